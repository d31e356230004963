from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('projects', '0021_chat_dashboard'),
    ]

    operations = [
        migrations.AddField(
            model_name='project',
            name='coder_agent',
            field=models.CharField(blank=True, default='', max_length=20),
        ),
    ]
