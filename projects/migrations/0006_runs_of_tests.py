from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('projects', '0005_sealed_replies'),
    ]

    operations = [
        migrations.AlterField(
            model_name='run',
            name='kind',
            field=models.CharField(choices=[('plan', 'Plan'), ('build', 'Build'), ('tests', 'Tests')], default='build', max_length=8),
        ),
    ]
